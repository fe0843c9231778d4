# Toolchain: 32-bit x86. What it builds runs on an x86-64 machine as it is.
set(CMAKE_SYSTEM_PROCESSOR i686)
set(TENON_CROSS i386)
set(CROSS_TRIPLET i686-linux-gnu)
set(CROSS_MULTIARCH i386-linux-gnu)
set(CROSS_LOADER ld-linux.so.2)
include(${CMAKE_CURRENT_LIST_DIR}/cross.cmake)
