# Writes TO: the object FROM, in which the symbols of the version script EXPORTS alone are global.
file(STRINGS ${EXPORTS} patterns REGEX "^ +(gs_|_Z).*;$")
list(TRANSFORM patterns STRIP)
list(TRANSFORM patterns REPLACE ";$" "")
list(TRANSFORM patterns PREPEND "--keep-global-symbol=")

# objcopy makes weak symbols local, but not those that g++ marks as unique in the process: so these become weak first.
execute_process(COMMAND ${NM} --defined-only ${FROM} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[0-9a-f]+ u [^\n]+" unique "${symbols}")
list(TRANSFORM unique REPLACE "^[0-9a-f]+ u " "")
list(JOIN unique "\n" unique)
file(WRITE ${TO}.unique "${unique}\n")
execute_process(COMMAND ${OBJCOPY} --weaken-symbols=${TO}.unique ${FROM} ${TO} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJCOPY} --wildcard ${patterns} --strip-unneeded ${TO} COMMAND_ERROR_IS_FATAL ANY)
