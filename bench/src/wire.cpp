#include "wire.hpp"

namespace haltpoll::bench {
namespace {

using json = nlohmann::ordered_json;

struct field {
  const char* name;
  u64 sample::*member;
};
constexpr field fields[] = {
    {"ops", &sample::ops},       {"wall_ns", &sample::wall_ns}, {"cpu_ns", &sample::cpu_ns},
    {"p50_ns", &sample::p50_ns}, {"p99_ns", &sample::p99_ns},   {"mean_ns", &sample::mean_ns},
    {"halts", &sample::halts},   {"polls", &sample::polls},     {"hits", &sample::hits},
};

}  // namespace

nlohmann::ordered_json to_json(const std::vector<curve_row>& curve) {
  json rows = json::array();
  for (const curve_row& c : curve)
    rows.push_back({{"idle_ns", c.idle_ns},
                    {"wake_p50_ns", c.wake_p50_ns},
                    {"wake_p90_ns", c.wake_p90_ns},
                    {"wake_p99_ns", c.wake_p99_ns}});
  return rows;
}

nlohmann::ordered_json to_json(const std::vector<part>& parts) {
  json rows = json::array();
  for (const part& p : parts) rows.push_back({{"name", p.name}, {"per_second", p.per_second}});
  return rows;
}

std::string encode(const outcome& o) {
  json j;
  if (const auto* error = std::get_if<std::string>(&o)) {
    j["error"] = *error;
  } else {
    const sample& s = std::get<sample>(o);
    for (const field& f : fields) j[f.name] = s.*f.member;
    j["curve"] = to_json(s.curve);
    j["parts"] = to_json(s.parts);
    j["preloaded"] = s.preloaded;
    if (s.interrupts) j["interrupts"] = *s.interrupts;
  }
  return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

outcome decode(std::string_view line) {
  const std::string garbage = "the worker said \"" + std::string(line.substr(0, 200)) + "\"";
  try {
    const json j = json::parse(line);
    if (j.contains("error")) return j.at("error").get<std::string>();
    sample s;
    for (const field& f : fields) s.*f.member = j.at(f.name).get<u64>();
    for (const json& c : j.at("curve"))
      s.curve.push_back(
          {c.at("idle_ns"), c.at("wake_p50_ns"), c.at("wake_p90_ns"), c.at("wake_p99_ns")});
    for (const json& p : j.at("parts")) s.parts.push_back({p.at("name"), p.at("per_second")});
    s.preloaded = j.at("preloaded").get<bool>();
    if (j.contains("interrupts")) s.interrupts = j.at("interrupts").get<u64>();
    return s;
  } catch (const json::exception&) {
    return garbage;
  }
}

}  // namespace haltpoll::bench
