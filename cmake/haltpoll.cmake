# What every room's CMakeLists.txt uses.

set(HALTPOLL_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them; empty for none")

add_library(haltpoll_options INTERFACE)
target_compile_options(haltpoll_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
option(HALTPOLL_WERROR "Warnings are errors" ON)
if(HALTPOLL_WERROR)
  target_compile_options(haltpoll_options INTERFACE -Werror)
endif()
if(HALTPOLL_SANITIZE)
  add_compile_options(-fsanitize=${HALTPOLL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HALTPOLL_SANITIZE})
endif()

# Clones share the cache: paths below the source count relative to it, and debug information names the clone that compiled first.
find_program(CCACHE ccache)
if(CCACHE)
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
endif()

# haltpoll_room(NAME [SOURCES ...] [DEPENDS rooms...] [LIBS ...]): the room's library, haltpoll::NAME. Without sources it
# is headers only. Only include/ is visible to others.
function(haltpoll_room name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LIBS" ${ARGN})
  if(arg_SOURCES)
    add_library(haltpoll_${name} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(haltpoll_${name} PRIVATE $<BUILD_INTERFACE:haltpoll_options>)
    target_include_directories(haltpoll_${name} PRIVATE src)
  else()
    add_library(haltpoll_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(haltpoll::${name} ALIAS haltpoll_${name})
  set_target_properties(haltpoll_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(haltpoll_${name} ${scope} cxx_std_20)
  target_include_directories(haltpoll_${name} ${scope}
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  list(TRANSFORM arg_DEPENDS PREPEND haltpoll::)
  target_link_libraries(haltpoll_${name} ${scope} ${arg_DEPENDS} ${arg_LIBS})
  haltpoll_headers_alone(${name})
endfunction()

# Every public header of the room compiles alone: true in one build or in none, so not said in the sanitizers' again.
function(haltpoll_headers_alone name)
  if(HALTPOLL_SANITIZE)
    return()
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR}/include/*.hpp)
  set(units)
  foreach(header ${headers})
    string(MAKE_C_IDENTIFIER ${header} id)
    set(unit ${CMAKE_CURRENT_BINARY_DIR}/alone/${id}.cpp)
    file(CONFIGURE OUTPUT ${unit} CONTENT "#include <${header}>\n")
    list(APPEND units ${unit})
  endforeach()
  if(units)
    add_library(haltpoll_${name}_headers_alone OBJECT ${units})
    target_link_libraries(haltpoll_${name}_headers_alone PRIVATE haltpoll::${name} haltpoll_options)
  endif()
endfunction()

# GoogleTest from Debian's source package, so that it is built with our flags for every architecture.
if(BUILD_TESTING)
  add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
endif()

# haltpoll_test(NAME SOURCES... [LIBS ...] [TIMEOUT s] [ENVIRONMENT NAME=value...]): one GoogleTest binary, one ctest
# entry NAME.Suite.Case for each case, so that a skipped one shows as skipped and never hides among passed ones.
include(GoogleTest)
function(haltpoll_test name)
  if(NOT BUILD_TESTING)
    return()
  endif()
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(properties TIMEOUT ${arg_TIMEOUT})
  if(arg_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  add_executable(${name} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} haltpoll_options GTest::gtest_main)
  gtest_discover_tests(${name} TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES ${properties})
endfunction()

find_program(CLANGXX NAMES clang++-14 clang++)

# haltpoll_fuzz(NAME SOURCE [SOURCES more...] [LIBS targets...] [LINK flags...] [CORPUS dir] [RUNS n]): a libFuzzer binary NAME.fuzz and a
# ctest entry fuzz_NAME which runs the corpus and then a bounded number of mutations, always the same ones. Always built
# by clang with address and undefined-behaviour sanitizers, whatever compiles the rest; so of LIBS it takes the include
# directories only, and what they need compiled goes into SOURCES, what they need linked (-lz) into LINK. RUNS is 100000 unless
# given: seconds. To fuzz without bound: NAME.fuzz DIR.
function(haltpoll_fuzz name source)
  # It has sanitizers of its own, whatever the build.
  if(NOT BUILD_TESTING OR CMAKE_CROSSCOMPILING OR HALTPOLL_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS;RUNS" "SOURCES;LIBS;LINK" ${ARGN})
  if(NOT arg_RUNS)
    set(arg_RUNS 100000)
  endif()
  set(binary ${CMAKE_CURRENT_BINARY_DIR}/${name}.fuzz)
  set(includes)
  foreach(lib ${arg_LIBS})
    set(dirs $<TARGET_PROPERTY:${lib},INTERFACE_INCLUDE_DIRECTORIES>)
    list(APPEND includes "$<$<BOOL:${dirs}>:-I$<JOIN:${dirs},;-I>>")
  endforeach()
  set(sources)
  foreach(file ${source} ${arg_SOURCES})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND sources ${file})
  endforeach()
  # One object per source, so that each has its dependency file.
  set(objects)
  foreach(file ${sources})
    cmake_path(GET file STEM stem)
    set(object ${binary}.${stem}.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CLANGXX} -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
        "${includes}" -MD -MF ${object}.d -c ${file} -o ${object}
      DEPENDS ${file} DEPFILE ${object}.d COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  add_custom_command(OUTPUT ${binary}
    COMMAND ${CLANGXX} -fsanitize=fuzzer,address,undefined ${objects} ${arg_LINK} -o ${binary}
    DEPENDS ${objects} VERBATIM)
  add_custom_target(fuzz_${name} ALL DEPENDS ${binary})
  set(corpus)
  if(arg_CORPUS)
    cmake_path(ABSOLUTE_PATH arg_CORPUS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set(corpus ${arg_CORPUS})
  endif()
  # libFuzzer adds what it finds to the first directory, so that is an empty one of the build tree.
  add_test(NAME fuzz_${name} COMMAND sh -c "rm -rf $1.found && mkdir $1.found && exec \"$@\"" sh
    ${binary} -seed=1 -runs=${arg_RUNS} -verbosity=0 -artifact_prefix=${binary}. ${binary}.found ${corpus})
endfunction()

# haltpoll_bpf_object(NAME SOURCE [INCLUDES dirs...]): NAME.bpf.o and, for who links NAME_skeleton, NAME.skel.h. -fno-autolink:
# the section that clang would add for C++ makes libbpf print a warning. -mcpu=v3: atomics that return a value (kernel 5.12).
find_program(BPFTOOL bpftool PATHS /usr/sbin /sbin)
function(haltpoll_bpf_object name source)
  cmake_parse_arguments(arg "" "" "INCLUDES" ${ARGN})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/skel/${name}.skel.h)
  list(TRANSFORM arg_INCLUDES PREPEND -I)
  add_custom_command(OUTPUT ${object} ${skeleton}
    COMMAND ${CLANGXX} -std=c++20 -g -O2 -fno-exceptions -fno-rtti -fno-autolink -Wall -Wextra -Werror
      -target bpf -mcpu=v3 ${arg_INCLUDES}
      -MD -MF ${object}.d -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/skel
    COMMAND ${BPFTOOL} gen skeleton ${object} name ${name} > ${skeleton}
    DEPENDS ${source} DEPFILE ${object}.d VERBATIM)
  add_custom_target(${name}_bpf DEPENDS ${object} ${skeleton})
  if(NOT TARGET bpf_skeletons)
    add_custom_target(bpf_skeletons)  # all of them, for lint
  endif()
  add_dependencies(bpf_skeletons ${name}_bpf)
  add_library(${name}_skeleton INTERFACE)
  add_dependencies(${name}_skeleton ${name}_bpf)
  target_include_directories(${name}_skeleton SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR}/skel)
endfunction()
