# The libraries that Tenon stands on, gathered in the target tenon_deps. They come from the system, or from build/deps,
# where scripts/setup unpacks what the system does not package. A cross build (TENON_CROSS is set by its toolchain file)
# takes all of them from build/deps/ARCHITECTURE.
#
# Set for cmake/install.cmake:
#   tenon_static_links     what a program that links the installed libtenon.a must link too
#   tenon_bundled_yyjson   the yyjson library to install along, where it came from build/deps

cmake_path(SET tenon_deps_root NORMALIZE ${PROJECT_SOURCE_DIR}/build/deps/${TENON_CROSS}/usr)
find_package(PkgConfig)

add_library(tenon_deps INTERFACE)
set(tenon_static_links)

# Finds the library that pkg-config calls module, with or without pkg-config's help. Sets NAME_LIBRARY.
function(tenon_find name module header library)
	if(PKG_CONFIG_FOUND)
		pkg_check_modules(PC_${name} QUIET ${module})
	endif()
	file(GLOB unpacked ${tenon_deps_root}/lib/*-*-*)
	find_path(${name}_INCLUDE ${header}
		HINTS ${PC_${name}_INCLUDE_DIRS} ${PC_${name}_INCLUDEDIR} ${tenon_deps_root}/include)
	find_library(${name}_LIBRARY ${library}
		HINTS ${PC_${name}_LIBRARY_DIRS} ${PC_${name}_LIBDIR} ${unpacked} ${tenon_deps_root}/lib)
	mark_as_advanced(${name}_INCLUDE ${name}_LIBRARY)
	if(NOT ${name}_INCLUDE OR NOT ${name}_LIBRARY)
		unset(${name}_INCLUDE CACHE)
		unset(${name}_LIBRARY CACHE)
		message(FATAL_ERROR "${library} not found: run `make setup`, which installs it or says what to install")
	endif()
	target_include_directories(tenon_deps SYSTEM INTERFACE ${${name}_INCLUDE})
	target_link_libraries(tenon_deps INTERFACE ${${name}_LIBRARY})
endfunction()

# The same library in the words of the linker on the user's machine.
function(tenon_link_installed path)
	get_filename_component(directory ${path} DIRECTORY)
	get_filename_component(stem ${path} NAME_WE)
	string(REGEX REPLACE "^lib" "" stem ${stem})
	if(NOT directory IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
		list(APPEND tenon_static_links -L${directory})
	endif()
	list(APPEND tenon_static_links -l${stem})
	set(tenon_static_links ${tenon_static_links} PARENT_SCOPE)
endfunction()

tenon_find(CBOR    libcbor    cbor.h       cbor)
tenon_find(DEFLATE libdeflate libdeflate.h deflate)
tenon_find(LZ4     liblz4     lz4.h        lz4)
tenon_find(ZSTD    libzstd    zstd.h       zstd)
tenon_find(NETTLE  nettle     nettle/sha2.h nettle)
tenon_find(YYJSON  yyjson     yyjson.h     yyjson)
tenon_find(ZSTD    libzstd    zstd.h       zstd)
tenon_link_installed(${CBOR_LIBRARY})
tenon_link_installed(${DEFLATE_LIBRARY})
tenon_link_installed(${LZ4_LIBRARY})
tenon_link_installed(${ZSTD_LIBRARY})
tenon_link_installed(${NETTLE_LIBRARY})
tenon_link_installed(${ZSTD_LIBRARY})

string(FIND "${YYJSON_LIBRARY}" "${tenon_deps_root}/" at)
if(at EQUAL 0)
	get_filename_component(tenon_bundled_yyjson ${YYJSON_LIBRARY} REALPATH)
	file(GLOB soname RELATIVE ${tenon_deps_root} ${YYJSON_LIBRARY}.[0-9])
	get_filename_component(tenon_bundled_soname "${soname}" NAME)
else()
	tenon_link_installed(${YYJSON_LIBRARY})
endif()

set(OpenMP_C_FOUND OFF)
if(TENON_OPENMP)
	if(APPLE)
		list(APPEND CMAKE_PREFIX_PATH /opt/homebrew/opt/libomp /usr/local/opt/libomp)
	endif()
	find_package(OpenMP COMPONENTS C)
	if(OpenMP_C_FOUND AND TENON_SANITIZE MATCHES "thread")
		# The sanitizer does not see how OpenMP's library lets threads wait; LLVM's tells it by way of this one.
		get_filename_component(openmp_dir "${OpenMP_omp_LIBRARY}" REALPATH)
		get_filename_component(openmp_dir "${openmp_dir}" DIRECTORY)
		find_library(ARCHER_LIBRARY NAMES libarcher.so HINTS ${openmp_dir} NO_DEFAULT_PATH)
		mark_as_advanced(ARCHER_LIBRARY)
		if(NOT ARCHER_LIBRARY)
			message(WARNING "libarcher not found: ThreadSanitizer would not see the barriers of OpenMP, so loops over "
				"tensors run on one thread")
			set(OpenMP_C_FOUND OFF)
		endif()
	endif()
	if(OpenMP_C_FOUND)
		target_link_libraries(tenon_deps INTERFACE OpenMP::OpenMP_C)
		# The flag, not a path: gcc and clang each bring a run-time library that serves code of both.
		if(APPLE)
			list(APPEND tenon_static_links ${OpenMP_C_LIBRARIES})
		else()
			list(APPEND tenon_static_links -fopenmp)
		endif()
	else()
		message(STATUS "OpenMP not found: loops over tensors will run on one thread")
	endif()
endif()
if(NOT OpenMP_C_FOUND)
	target_compile_options(tenon_flags INTERFACE -Wno-unknown-pragmas)
endif()

find_package(Threads REQUIRED)
target_link_libraries(tenon_deps INTERFACE Threads::Threads)
list(APPEND tenon_static_links ${CMAKE_THREAD_LIBS_INIT})

find_library(MATH_LIBRARY m)
mark_as_advanced(MATH_LIBRARY)
if(MATH_LIBRARY)
	target_link_libraries(tenon_deps INTERFACE m)
	list(APPEND tenon_static_links -lm)
endif()
