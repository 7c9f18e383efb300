# Configures the project SOURCE in BUILD from nothing, against what is installed in PREFIX, builds it, and runs it twice: the second
# time with the store of the first, when its output has to match SECOND_RUN.
file(REMOVE_RECURSE ${BUILD})
execute_process(COMMAND ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${BUILD} -DCMAKE_PREFIX_PATH=${PREFIX} -D${COMPILER}
  -D${FLAGS} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BUILD}/multiply ${BUILD}/store.sqlite COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${BUILD}/multiply ${BUILD}/store.sqlite OUTPUT_VARIABLE second COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "The second run:\n${second}")
if(NOT second MATCHES "${SECOND_RUN}")
  message(FATAL_ERROR "The second run does not say \"${SECOND_RUN}\"")
endif()
