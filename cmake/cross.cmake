# What the toolchain files i386.cmake and s390x.cmake share: Debian's cross compiler of a triplet, and the libraries that
# scripts/setup-cross unpacks. Both say before what TENON_CROSS (Debian's name of the architecture), CROSS_TRIPLET (of its
# compiler) and CROSS_MULTIARCH (of its library folder) are.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${CROSS_TRIPLET}-gcc)

get_filename_component(deps ${CMAKE_CURRENT_LIST_DIR}/../build/deps/${TENON_CROSS} ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${deps} /usr/${CROSS_TRIPLET})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_PATH ${deps}/usr/lib/${CROSS_MULTIARCH})
set(ENV{PKG_CONFIG_LIBDIR} ${deps}/usr/lib/${CROSS_MULTIARCH}/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${deps})

# The C library and the loader of the cross compiler, not those that the machine may have for this architecture. The old
# kind of path holds also for what the C library itself loads, which is libgcc_s when a thread ends.
set(CMAKE_EXE_LINKER_FLAGS_INIT
	"-Wl,--disable-new-dtags -Wl,--dynamic-linker=/usr/${CROSS_TRIPLET}/lib/${CROSS_LOADER} -Wl,-rpath,/usr/${CROSS_TRIPLET}/lib")
