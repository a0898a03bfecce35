# cmake -DREADELF=... -DOBJECT=... -P: fails if OBJECT refers to a symbol that it does not define. Objects for BPF are not linked, so
# this is what the linker would say.
execute_process(COMMAND ${READELF} --symbols --wide ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "failures")
  message(FATAL_ERROR "${OBJECT}: the governors are not in it")
endif()
string(REGEX MATCHALL " UND +[^ \n]+" undefined "${symbols}")
if(undefined)
  message(FATAL_ERROR "${OBJECT}: undefined: ${undefined}")
endif()
