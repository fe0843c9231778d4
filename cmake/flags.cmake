# Compiler flags. The target tenon_flags carries them to our own code; third-party sources do not get it.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)

# Assertions stay on in a release: each guards an invariant whose failure is worse than a stop.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG   "-Og -g3")

# Numbers must not depend on whether a compiler fuses a multiplication into an addition.
add_compile_options($<$<COMPILE_LANGUAGE:C>:-ffp-contract=off>)

# Nor on whether a float is calculated as a wider one: the registers of x87 and the ABI of s390 do so.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(i.86|x86)$" OR (CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 4))
	add_compile_options($<$<COMPILE_LANGUAGE:C>:-msse2> $<$<COMPILE_LANGUAGE:C>:-mfpmath=sse>)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^s390" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
	add_compile_options($<$<COMPILE_LANGUAGE:C>:-fexcess-precision=fast>)
endif()

# No path of the machine that built it in what is installed.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT TENON_COVERAGE)
	add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/= -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
endif()

add_library(tenon_flags INTERFACE)
target_compile_options(tenon_flags INTERFACE
	-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wvla -Wformat=2
	-Wstrict-prototypes -Wmissing-prototypes
	$<$<BOOL:${TENON_WERROR}>:-Werror>)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
	# gcc knows whether a variable was set only as far as it optimises.
	target_compile_options(tenon_flags INTERFACE -Wno-maybe-uninitialized)
endif()
target_compile_definitions(tenon_flags INTERFACE
	$<$<BOOL:${TENON_ARENA_DEBUG}>:TENON_ARENA_DEBUG>)

# Files come from strangers: what is released looks at the edges of its buffers, as far as that costs next to nothing. Not the
# tests, some of which put their own system calls in front of the C library's.
add_library(tenon_hardening INTERFACE)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND TENON_HARDEN AND NOT TENON_SANITIZE AND NOT TENON_COVERAGE)
	target_compile_options(tenon_hardening INTERFACE -fstack-protector-strong)
	if(NOT CMAKE_C_FLAGS MATCHES "_FORTIFY_SOURCE") # a distribution's own choice counts
		target_compile_options(tenon_hardening INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
	endif()
	if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
		target_link_options(tenon_hardening INTERFACE LINKER:-z,relro LINKER:-z,now)
	endif()
endif()

if(TENON_SANITIZE)
	add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
	add_link_options(-fsanitize=${TENON_SANITIZE})
endif()

if(TENON_FUZZ)
	if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
		message(FATAL_ERROR "TENON_FUZZ needs clang: cmake --preset fuzz")
	endif()
	# Comparisons are not traced: that takes a third of the time, and those of bytes are seen through memcmp as it is.
	if(NOT CMAKE_C_COMPILER MATCHES "afl") # which instruments in its own way
		add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
	endif()
endif()

if(TENON_COVERAGE)
	if(CMAKE_C_COMPILER_ID MATCHES "Clang")
		set(coverage -fprofile-instr-generate -fcoverage-mapping)
	else()
		set(coverage --coverage)
	endif()
	add_compile_options(${coverage})
	add_link_options(${coverage})
endif()

# Instrumented code refers to symbols that must stay visible in every object.
set(tenon_instrumented OFF)
if(TENON_SANITIZE OR TENON_FUZZ OR TENON_COVERAGE)
	set(tenon_instrumented ON)
endif()
