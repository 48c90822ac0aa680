# Several files of a target in one compilation: headers and templates are then compiled once for all of them. Which files
# can be together unite.py finds in their text, when CMake runs: a file that now declares a name that another of its
# group uses does not compile until CMake runs again (./dev build and ./dev test do that). Who works on one file, or
# looks for a missing #include, configures with -DMSDBG_UNITY=OFF.
function(msdbg_unite)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(NOT MSDBG_UNITY OR NOT Python3_Interpreter_FOUND)
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/cmake/unite.py")
  set(list "")
  get_property(targets GLOBAL PROPERTY MSDBG_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    foreach(file IN LISTS sources)
      cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${folder}")
      cmake_path(IS_PREFIX CMAKE_BINARY_DIR "${file}" generated)
      if(file MATCHES "\\.cpp$" AND NOT generated)
        string(APPEND list "${target}\t${file}\n")
      endif()
    endforeach()
  endforeach()
  file(WRITE "${CMAKE_BINARY_DIR}/unity/files.txt" "${list}")
  execute_process(COMMAND "${Python3_EXECUTABLE}" "${CMAKE_SOURCE_DIR}/cmake/unite.py"
    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
    INPUT_FILE "${CMAKE_BINARY_DIR}/unity/files.txt" OUTPUT_FILE "${CMAKE_BINARY_DIR}/unity/groups.cmake"
    COMMAND_ERROR_IS_FATAL ANY)
  include("${CMAKE_BINARY_DIR}/unity/groups.cmake")
endfunction()
