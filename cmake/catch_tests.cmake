# msdbg_discover_tests(PROGRAM): CTest entries for a Catch2 program, one for each test file (PROGRAM.<file>), and a
# second one labelled slow where the file has cases tagged [slow]. The list is made right after linking, by asking the
# program: a process per file is far cheaper than one per case, and still says what failed.
function(msdbg_discover_tests program)
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${program}_tests.cmake")
  set(environment "GOMP_SPINCOUNT=1000") # tests share the cores; see core_engine/base/openmp_waiting.h
  if(MSDBG_SANITIZE)
    list(APPEND environment "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/support/lsan.supp:print_suppressions=0"
                    "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/support/tsan.supp:die_after_fork=0")
  endif()
  if(MSDBG_SANITIZE STREQUAL "thread")
    # Barriers of GCC's OpenMP are invisible to it: teams of one leave the threads that we make ourselves.
    list(APPEND environment "OMP_THREAD_LIMIT=1")
  endif()
  add_custom_command(TARGET ${program} POST_BUILD
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${program}>" "-DNAME=${program}" "-DOUTPUT=${list}"
            "-DENVIRONMENT=${environment}" -P "${CMAKE_SOURCE_DIR}/cmake/list_catch_tests.cmake"
    VERBATIM)
  # Before the first build there is no list; then a test that cannot run says so.
  set(include "${CMAKE_CURRENT_BINARY_DIR}/${program}_include.cmake")
  file(WRITE "${include}"
    "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n  add_test(${program}_NOT_BUILT ${program})\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()
