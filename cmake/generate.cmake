# Generated sources. Both functions may be called from any subfolder of the target's own.

# msdbg_protobuf(TARGET a.proto...) compiles the .proto files of this folder into TARGET. Imports and includes are from
# the repository root: import "core_engine/graph/graph.proto"; #include "core_engine/graph/graph.pb.h" (.cpp files only).
function(msdbg_protobuf target)
  find_program(MSDBG_PROTOC protoc REQUIRED)
  set(generated)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE relative)
    string(REGEX REPLACE "\\.proto$" "" stem "${MSDBG_GENERATED_DIR}/${relative}")
    add_custom_command(
      OUTPUT "${stem}.pb.cc" "${stem}.pb.h"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${MSDBG_GENERATED_DIR}"
      COMMAND "${MSDBG_PROTOC}" "--proto_path=${CMAKE_SOURCE_DIR}" "--cpp_out=${MSDBG_GENERATED_DIR}" "${file}"
      DEPENDS "${file}" COMMENT "protoc ${relative}" VERBATIM)
    list(APPEND generated "${stem}.pb.cc" "${stem}.pb.h")
  endforeach()
  set_source_files_properties(${generated} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS -w)
  msdbg_add_generated(${target} ${generated})
  target_link_libraries(${target} PRIVATE msdbg_dep::protobuf)
endfunction()

# msdbg_embed_files(TARGET HEADER TYPE FUNCTION files...) defines FUNCTION, declared in HEADER as
# std::span<const TYPE> FUNCTION(), over the files as {path from the repository root, text}. Names are fully qualified.
function(msdbg_embed_files target header type function)
  string(MAKE_C_IDENTIFIER "${function}" stem)
  set(output "${MSDBG_GENERATED_DIR}/${stem}.cpp")
  set(script "${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DOUTPUT=${output}" "-DROOT=${CMAKE_SOURCE_DIR}" "-DHEADER=${header}" "-DTYPE=${type}"
            "-DFUNCTION=${function}" "-DFILES=${ARGN}" -P "${script}"
    DEPENDS ${ARGN} "${script}" COMMENT "Embedding sources: ${function}" VERBATIM)
  msdbg_add_generated(${target} "${output}")
endfunction()

# A custom command is known in its own folder only; a custom target carries it to a library of another folder.
function(msdbg_add_generated target)
  list(GET ARGN 0 first)
  cmake_path(GET first FILENAME name)
  string(MAKE_C_IDENTIFIER "generate_${target}_${name}" generator)
  add_custom_target(${generator} DEPENDS ${ARGN})
  add_dependencies(${target} ${generator})
  target_sources(${target} PRIVATE ${ARGN})
endfunction()
