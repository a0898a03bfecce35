#pragma once
// report_page: the assembled page, generated from bench/report/ by embed.cmake. The bench JSON goes
// between the two halves, escaped for a <script> element.
#include <string_view>

namespace haltpoll::bench {

extern const std::string_view report_page_before;
extern const std::string_view report_page_after;

}  // namespace haltpoll::bench
