#pragma once
// wire: the one line of JSON in which a worker hands its sample to the runner.
#include <haltpoll/bench/workload.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace haltpoll::bench {

/// One line with an end.
std::string encode(const outcome& o);
/// Anything but a complete sample is an error that quotes what came.
outcome decode(std::string_view line);

/// Also in the report's JSON.
nlohmann::ordered_json to_json(const std::vector<curve_row>& curve);
nlohmann::ordered_json to_json(const std::vector<part>& parts);

}  // namespace haltpoll::bench
