# cmake -DSOURCES=bench/report -DUPLOT=node_modules/uplot -DOUTPUT=report_page.cpp -P embed.cmake
# Fills page.html's @placeholders@ and writes it as two C++ raw strings: before and after the bench JSON.
file(READ ${SOURCES}/page.html page)

function(fill placeholder)
  set(text)
  foreach(file ${ARGN})
    file(READ ${file} more)
    string(APPEND text "${more}\n")
  endforeach()
  # Inside <script> and <style>, these would end the element or change how it is read.
  foreach(forbidden "</script" "</style" "<!--" ")page\"")
    string(FIND "${text}" "${forbidden}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${ARGN}: must not contain ${forbidden}")
    endif()
  endforeach()
  string(FIND "${page}" "@${placeholder}@" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "page.html: has no @${placeholder}@")
  endif()
  string(REPLACE "@${placeholder}@" "${text}" page "${page}")
  set(page "${page}" PARENT_SCOPE)
endfunction()

fill(UPLOT_LICENSE ${UPLOT}/LICENSE)
fill(UPLOT_CSS ${UPLOT}/dist/uPlot.min.css)
fill(UPLOT_JS ${UPLOT}/dist/uPlot.iife.min.js)
fill(PAGE_CSS ${SOURCES}/page.css)
fill(PAGE_JS ${SOURCES}/figures.js ${SOURCES}/charts.js ${SOURCES}/tables.js ${SOURCES}/page.js)

string(REPLACE "@BENCH_JSON@" ")page\";\nconst std::string_view report_page_after = R\"page(" page "${page}")
file(WRITE ${OUTPUT} "// Generated from bench/report/ by embed.cmake.
#include \"report_page.hpp\"

namespace haltpoll::bench {
const std::string_view report_page_before = R\"page(${page})page\";
}  // namespace haltpoll::bench
")
