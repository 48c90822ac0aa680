# The libraries msdbg uses, each behind one imported target. All are private links: none of their headers may
# appear in a public header of msdbg (tests/structure checks it).
#
#   msdbg_dep::hdf5          HDF5 1.10, C library, serial    msdbg_dep::hdf5_headers  the same without linking it
#   msdbg_dep::zstd          zstd                            msdbg_dep::xxhash        xxHash
#   msdbg_dep::protobuf      protobuf (use msdbg_protobuf)   msdbg_dep::dnnl          oneDNN
#   msdbg_dep::zlib          zlib (gzip'd data files)         msdbg_dep::crypto        OpenSSL's libcrypto: SHA-256
#   msdbg_dep::mpi           MPI, C bindings; exists if MSDBG_MPI_FOUND
#   msdbg_dep::fmt           fmt                             msdbg_dep::spdlog        spdlog (with fmt)
#   msdbg_dep::openmp        -fopenmp                        msdbg_dep::threads       -pthread
#   msdbg_dep::simdjson      simdjson: the journal
#   msdbg_dep::json          nlohmann-json, header only      msdbg_dep::cli11         CLI11, header only
#   msdbg_dep::catch2        Catch2 v2, header only          msdbg_dep::dtl           dtl, header only
#   msdbg_dep::eigen         Eigen 3, header only: float16 and bfloat16
#   msdbg_dep::python        Python's headers; exists if MSDBG_PYTHON_FOUND
#   The window's, if MSDBG_GUI_FOUND: qt_gui, qt_widgets, qt_svg, qt_dbus, qt_test, qscintilla,
#   qcustomplot
#
# This file is installed and read by msdbgConfig.cmake too: who links the static libraries links these. The
# header-only ones are then empty (MSDBG_PACKAGE is set).

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED GLOBAL)
find_package(OpenMP REQUIRED COMPONENTS CXX GLOBAL)

# msdbg_dep::NAME from the first of the pkg-config modules that exists; sets MSDBG_NAME_FOUND.
function(msdbg_find_pkg_config name)
  pkg_search_module(MSDBG_PC_${name} QUIET IMPORTED_TARGET GLOBAL ${ARGN})
  if(MSDBG_PC_${name}_FOUND AND NOT TARGET msdbg_dep::${name})
    add_library(msdbg_dep::${name} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(msdbg_dep::${name} INTERFACE PkgConfig::MSDBG_PC_${name})
  endif()
endfunction()

# msdbg_dep::NAME as another name for a target that find_package(PACKAGE) made.
function(msdbg_find_target name package target)
  if(NOT TARGET ${target})
    find_package(${package} QUIET GLOBAL)
  endif()
  if(TARGET ${target} AND NOT TARGET msdbg_dep::${name})
    add_library(msdbg_dep::${name} INTERFACE IMPORTED GLOBAL)
    target_link_libraries(msdbg_dep::${name} INTERFACE ${target})
  endif()
endfunction()

# msdbg_dep::NAME by its header and its library file. For oneDNN: Debian's dnnl-config.cmake insists on OpenCL.
function(msdbg_find_files name header library)
  find_path(MSDBG_INCLUDE_${name} ${header} PATH_SUFFIXES qt6)
  find_library(MSDBG_LIBRARY_${name} ${library})
  mark_as_advanced(MSDBG_INCLUDE_${name} MSDBG_LIBRARY_${name})
  if(MSDBG_INCLUDE_${name} AND MSDBG_LIBRARY_${name} AND NOT TARGET msdbg_dep::${name})
    add_library(msdbg_dep::${name} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(msdbg_dep::${name} PROPERTIES IMPORTED_LOCATION "${MSDBG_LIBRARY_${name}}"
      INTERFACE_INCLUDE_DIRECTORIES "${MSDBG_INCLUDE_${name}}")
  endif()
endfunction()

# msdbg_dep::NAME for a header-only library: its folder of headers, nothing to link.
function(msdbg_find_header name header)
  if(TARGET msdbg_dep::${name})
    return()
  endif()
  if(NOT MSDBG_PACKAGE)
    find_path(MSDBG_INCLUDE_${name} ${header} PATH_SUFFIXES eigen3)
    mark_as_advanced(MSDBG_INCLUDE_${name})
    if(NOT MSDBG_INCLUDE_${name})
      return()
    endif()
  endif()
  add_library(msdbg_dep::${name} INTERFACE IMPORTED GLOBAL)
  if(NOT MSDBG_PACKAGE)
    target_include_directories(msdbg_dep::${name} INTERFACE "${MSDBG_INCLUDE_${name}}")
  endif()
endfunction()

function(msdbg_require name debianPackage)
  if(NOT TARGET msdbg_dep::${name})
    message(FATAL_ERROR "msdbg needs ${name}: apt install ${debianPackage} (./dev setup installs everything)")
  endif()
endfunction()

msdbg_find_target(threads Threads Threads::Threads)
msdbg_find_target(openmp OpenMP OpenMP::OpenMP_CXX)
msdbg_find_target(fmt fmt fmt::fmt)
msdbg_find_target(spdlog spdlog spdlog::spdlog)
msdbg_find_pkg_config(hdf5 hdf5-serial hdf5)
msdbg_find_pkg_config(zstd libzstd)
msdbg_find_pkg_config(xxhash libxxhash)
msdbg_find_pkg_config(protobuf protobuf)
msdbg_find_pkg_config(zlib zlib)
msdbg_find_pkg_config(crypto libcrypto)
msdbg_find_pkg_config(simdjson simdjson)
msdbg_find_files(dnnl dnnl.hpp dnnl)
msdbg_find_files(boost_context boost/context/fiber.hpp boost_context)
msdbg_find_header(json nlohmann/json.hpp)
msdbg_find_header(cli11 CLI/CLI.hpp)
msdbg_find_header(dtl dtl/dtl.hpp)
msdbg_find_header(catch2 catch2/catch.hpp)
msdbg_find_header(eigen Eigen/Core)

msdbg_require(dnnl libdnnl-dev)
msdbg_require(boost_context libboost-context-dev)
msdbg_require(fmt libfmt-dev)
msdbg_require(spdlog libspdlog-dev)
msdbg_require(hdf5 libhdf5-dev)
msdbg_require(zstd libzstd-dev)
msdbg_require(xxhash libxxhash-dev)
msdbg_require(protobuf libprotobuf-dev)
msdbg_require(zlib zlib1g-dev)
msdbg_require(crypto libssl-dev)
msdbg_require(simdjson libsimdjson-dev)
msdbg_require(json nlohmann-json3-dev)
msdbg_require(cli11 libcli11-dev)
msdbg_require(dtl libdtl-dev)
msdbg_require(eigen libeigen3-dev)

# Debian's serial HDF5 keeps its headers apart from the parallel one's; the filter plugin needs only these.
if(NOT TARGET msdbg_dep::hdf5_headers)
  add_library(msdbg_dep::hdf5_headers INTERFACE IMPORTED GLOBAL)
  target_include_directories(msdbg_dep::hdf5_headers INTERFACE ${MSDBG_PC_hdf5_INCLUDE_DIRS})
endif()

# Python's headers, of any version: the extension is of the stable ABI, and links no libpython.
set(MSDBG_PYTHON_FOUND OFF)
if(NOT MSDBG_PACKAGE)
  find_path(MSDBG_INCLUDE_python Python.h PATH_SUFFIXES
    python3.13 python3.12 python3.11 python3.10 python3.9)
  mark_as_advanced(MSDBG_INCLUDE_python)
  if(MSDBG_INCLUDE_python)
    set(MSDBG_PYTHON_FOUND ON)
    add_library(msdbg_dep::python INTERFACE IMPORTED GLOBAL)
    target_include_directories(msdbg_dep::python SYSTEM INTERFACE "${MSDBG_INCLUDE_python}")
  else()
    message(STATUS "Python's headers were not found: PyTorch cannot be recorded (apt install python3-dev)")
  endif()
endif()

set(MSDBG_MPI_FOUND OFF)
if(MSDBG_MPI)
  msdbg_find_pkg_config(mpi ompi-c mpi-c)
  if(TARGET msdbg_dep::mpi)
    set(MSDBG_MPI_FOUND ON)
    # mpi.h would else pull in the C++ bindings, which are gone from the standard and need a library of their own.
    target_compile_definitions(msdbg_dep::mpi INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  elseif(NOT MSDBG_PACKAGE)
    message(STATUS "MPI was not found: msdbg will train on one rank only (apt install libopenmpi-dev openmpi-bin)")
  endif()
endif()

# CUDA: a module of its own, which nothing links. One that is too old to compile C++20 is none.
set(MSDBG_CUDA_FOUND OFF)
if(MSDBG_CUDA AND NOT MSDBG_PACKAGE AND NOT MSDBG_SANITIZE)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit QUIET)
  endif()
  if(CUDAToolkit_FOUND AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0)
    set(MSDBG_CUDA_FOUND ON)
  else()
    message(STATUS "The CUDA toolkit was not found: msdbg will not train on GPUs (./dev setup cuda brings one)")
  endif()
endif()

# The window's libraries: all of them or no window. They appear in no other target.
set(MSDBG_GUI_FOUND OFF)
if(MSDBG_GUI AND NOT MSDBG_PACKAGE)
  find_package(Qt6 6.4 QUIET COMPONENTS Core Gui Widgets Svg DBus Test)
  if(Qt6_FOUND)
    msdbg_find_target(qt_gui Qt6 Qt6::Gui)
    msdbg_find_target(qt_widgets Qt6 Qt6::Widgets)
    msdbg_find_target(qt_svg Qt6 Qt6::Svg)
    msdbg_find_target(qt_dbus Qt6 Qt6::DBus)
    msdbg_find_target(qt_test Qt6 Qt6::Test)
    msdbg_find_files(qscintilla Qsci/qsciscintilla.h qscintilla2_qt6)
    msdbg_find_files(qcustomplot qcustomplot.h QCustomPlotQt6)
  endif()
  set(MSDBG_GUI_FOUND ON)
  foreach(part qt_gui qt_widgets qt_svg qt_dbus qt_test qscintilla qcustomplot)
    if(NOT TARGET msdbg_dep::${part})
      message(STATUS "${part} was not found: msdbg-gui will not be built (./dev setup installs what it needs)")
      set(MSDBG_GUI_FOUND OFF)
    endif()
  endforeach()
  if(MSDBG_GUI_FOUND)
    target_link_libraries(msdbg_dep::qcustomplot INTERFACE Qt6::Widgets)
    target_link_libraries(msdbg_dep::qscintilla INTERFACE Qt6::Widgets)
  endif()
endif()
