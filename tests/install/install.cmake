# Installs BUILD into PREFIX, which is emptied first, and runs the executable from there.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PREFIX}/bin/gemmsmith --version COMMAND_ERROR_IS_FATAL ANY)
