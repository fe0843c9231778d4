# libtenon.a, and the rule that no library of ours shows more than the public names.
#
# Internal functions have short names (cur_u32, plan_run) which must not meet those of a program that links the archive.
# So on ELF all objects become one relocatable object, in which every symbol but tn_* is made local. Where the tools for
# that are missing, and in instrumented builds, the archive is a plain one.

include(CheckLinkerFlag)

function(tenon_export_only_public target)
	if(APPLE)
		target_link_options(${target} PRIVATE "LINKER:-exported_symbol,_tn_*")
	elseif(UNIX)
		set(map ${PROJECT_SOURCE_DIR}/cmake/tenon.map)
		target_link_options(${target} PRIVATE LINKER:--version-script=${map})
		set_target_properties(${target} PROPERTIES LINK_DEPENDS ${map})
	endif()
endfunction()

set(tenon_localise OFF)
if(UNIX AND NOT APPLE AND CMAKE_OBJCOPY AND NOT tenon_instrumented AND NOT CMAKE_C_FLAGS MATCHES "-flto")
	set(tenon_localise ON)
endif()

if(tenon_localise)
	# What the compiler shares between objects (on i386 the thunks that find the program counter) would else stay in groups,
	# of which a program keeps one: by then made local, the others could no longer refer to it.
	check_linker_flag(C LINKER:--force-group-allocation LINKS_GROUPS)
	set(links_groups $<$<BOOL:${LINKS_GROUPS}>:-Wl,--force-group-allocation>)
	set(one_object ${CMAKE_CURRENT_BINARY_DIR}/tenon_one.o)
	separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_FLAGS}")
	add_custom_command(OUTPUT ${one_object}
		COMMAND ${CMAKE_C_COMPILER} ${flags} -r -nostdlib ${links_groups} -o ${one_object} ${objects}
		COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard --keep-global-symbol=tn_* ${one_object}
		DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM
		COMMENT "Linking the objects of libtenon.a into one")
	set_source_files_properties(${one_object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
	add_library(tenon_static STATIC ${one_object})
	set(tenon_for_command tenon_static)
else()
	add_library(tenon_static STATIC ${objects})
	set(tenon_for_command tenon)
endif()
add_library(tenon::tenon_static ALIAS tenon_static)

target_include_directories(tenon_static
	INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_link_libraries(tenon_static INTERFACE $<BUILD_INTERFACE:tenon_deps>)
set_target_properties(tenon_static PROPERTIES OUTPUT_NAME tenon EXPORT_NAME tenon_static LINKER_LANGUAGE C)
