# Script of msdbg_discover_tests: asks PROGRAM for its cases and writes the CTest entries to OUTPUT.

# The files (without .cpp) that have cases matching the filter. With "-v high" Catch2 lists "name\t@file:line".
function(files_with filter result)
  execute_process(COMMAND "${PROGRAM}" "${filter}" --list-test-names-only -v high
                  OUTPUT_VARIABLE listed RESULT_VARIABLE count ERROR_VARIABLE errors)
  if(NOT count MATCHES "^[0-9]+$") # Catch2 v2 exits with the number of cases
    message(FATAL_ERROR "${PROGRAM} cannot list its tests: ${count}\n${errors}")
  endif()
  string(REGEX MATCHALL "\t@[^\n\t]*\\.cpp:[0-9]+" places "${listed}")
  list(TRANSFORM places REPLACE "^.*/([^/]*)\\.cpp:[0-9]+$" "\\1")
  list(REMOVE_DUPLICATES places)
  set(${result} "${places}" PARENT_SCOPE)
endfunction()

set(entries "")
function(add_entries suffix filter timeout properties)
  files_with("${filter}" files)
  foreach(file IN LISTS files)
    set(test "[==[${NAME}.${file}${suffix}]==]")
    string(APPEND entries "add_test(${test} [==[${PROGRAM}]==] --filenames-as-tags [==[[#${file}]${filter}]==])\n")
    string(APPEND entries "set_tests_properties(${test} PROPERTIES TIMEOUT ${timeout} ${properties}")
    if(ENVIRONMENT)
      string(APPEND entries " ENVIRONMENT [==[${ENVIRONMENT}]==]")
    endif()
    string(APPEND entries ")\n")
  endforeach()
  set(entries "${entries}" PARENT_SCOPE)
endfunction()

# Without a GPU its tests end with this code, and count as skipped.
set(skip "")
if(NAME STREQUAL "test_gpu")
  set(skip " SKIP_RETURN_CODE 77")
endif()
add_entries("" "~[slow]" 300 "LABELS fast${skip}")
add_entries(".slow" "[slow]" 1800 "LABELS slow PROCESSORS 2${skip}")
file(WRITE "${OUTPUT}" "${entries}")
