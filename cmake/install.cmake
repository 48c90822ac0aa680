# What a user's program needs: find_package(msdbg) and msdbg::msdbg (engine + recorder), headers in include/msdbg.
include(CMakePackageConfigHelpers)

add_library(msdbg_package INTERFACE)
set_target_properties(msdbg_package PROPERTIES EXPORT_NAME msdbg)
target_include_directories(msdbg_package INTERFACE "$<INSTALL_INTERFACE:include;include/msdbg>")
target_link_libraries(msdbg_package INTERFACE msdbg_recorder)

set(destination lib/cmake/msdbg)
install(TARGETS msdbg_package msdbg_recorder msdbg_writer msdbg_dump msdbg_watchpoints msdbg_train msdbg_engine msdbg_ir EXPORT msdbgTargets ARCHIVE DESTINATION lib)
install(EXPORT msdbgTargets NAMESPACE msdbg:: DESTINATION ${destination})
configure_package_config_file(cmake/msdbgConfig.cmake.in "${CMAKE_BINARY_DIR}/msdbgConfig.cmake"
  INSTALL_DESTINATION ${destination})
write_basic_package_version_file("${CMAKE_BINARY_DIR}/msdbgConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/msdbgConfig.cmake" "${CMAKE_BINARY_DIR}/msdbgConfigVersion.cmake"
              cmake/dependencies.cmake DESTINATION ${destination})

# The folders are kept, so an installed header includes another as in the repository.
include(public_headers)
msdbg_public_headers(headers dump/session/msdbg.h)
foreach(header IN LISTS headers)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${header} DESTINATION include/msdbg/${folder})
endforeach()
install(FILES dump/session/msdbg.h DESTINATION include/msdbg)
install(FILES resources/recording.example.json resources/recording.schema.json dump/FORMAT.md
  DESTINATION share/msdbg)
install(DIRECTORY resources/examples resources/guide DESTINATION share/msdbg)
install(FILES resources/screenshots/window.png resources/screenshots/window-dark.png
  resources/screenshots/modules.png
  DESTINATION share/msdbg/screenshots) # the guide shows them
