// json_check SCHEMA: standard input is one JSON object whose first key is "schema" with that value.
#include <iostream>
#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  const auto json = nlohmann::ordered_json::parse(std::cin, nullptr, false);
  const bool good = argc == 2 && json.is_object() && !json.empty() &&
                    json.begin().key() == "schema" && json.begin().value() == argv[1];
  if (!good)
    std::cerr << "not one JSON object that begins with \"schema\": \""
              << (argc == 2 ? argv[1] : "?") << "\"\n";
  return good ? 0 : 1;
}
