# What `cmake --install` puts where. Components: dev (headers, static libraries, find_package), runtime (the command and
# the preload library).
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/haltpoll)

install(TARGETS haltpoll_core haltpoll_cpu haltpoll_wait EXPORT haltpoll
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
foreach(room core cpu wait)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/${room}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
    FILES_MATCHING PATTERN *.hpp)
endforeach()
install(EXPORT haltpoll NAMESPACE haltpoll:: FILE haltpollTargets.cmake DESTINATION ${package_dir} COMPONENT dev)
configure_package_config_file(cmake/haltpollConfig.cmake.in ${CMAKE_BINARY_DIR}/haltpollConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break callers.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/haltpollConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/haltpollConfig.cmake ${CMAKE_BINARY_DIR}/haltpollConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)

if(TARGET haltpoll_preload)
  install(TARGETS haltpoll_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/haltpoll COMPONENT runtime)
endif()
if(TARGET haltpoll)
  install(TARGETS haltpoll RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
endif()

# A project of its own builds against a staged installation and runs. One build type is enough.
if(BUILD_TESTING AND CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo AND NOT HALTPOLL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(NAME install COMMAND ${CMAKE_COMMAND}
    -DBUILD=${CMAKE_BINARY_DIR} -DSOURCE=${CMAKE_SOURCE_DIR}/tests/install -DWORK=${CMAKE_BINARY_DIR}/install_test
    -DGENERATOR=${CMAKE_GENERATOR} -DCXX=${CMAKE_CXX_COMPILER} -P ${CMAKE_SOURCE_DIR}/tests/install/run.cmake)
endif()
