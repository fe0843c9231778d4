# What `make install` puts where: the command, both libraries, the header, the CMake package and tenon.pc. A yyjson that
# came from build/deps is installed in a folder of its own beside the library, which finds it relative to itself; nothing
# that is installed refers to the build tree.

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tenon)
set(bundle_dir ${CMAKE_INSTALL_LIBDIR}/tenon)

if(APPLE)
	set(origin @loader_path)
else()
	set(origin $ORIGIN)
endif()
file(RELATIVE_PATH lib_from_bin /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})

set(command_rpath)
if(NOT tenon_localise)
	list(APPEND command_rpath ${origin}/${lib_from_bin})
endif()
if(tenon_bundled_yyjson)
	install(FILES ${tenon_bundled_yyjson} DESTINATION ${bundle_dir} RENAME ${tenon_bundled_soname})
	set_target_properties(tenon PROPERTIES INSTALL_RPATH ${origin}/tenon)
	list(APPEND command_rpath ${origin}/${lib_from_bin}/tenon)
endif()
if(TARGET tenon_command)
	set_target_properties(tenon_command PROPERTIES INSTALL_RPATH "${command_rpath}")
endif()

# A program that links libtenon.a links these; the bundled yyjson by its path, and to be found there at run time.
set(cmake_links ${tenon_static_links})
set(pc_links ${tenon_static_links})
if(tenon_bundled_yyjson)
	list(APPEND cmake_links $<INSTALL_PREFIX>/${bundle_dir}/${tenon_bundled_soname})
	list(APPEND pc_links "\${libdir}/tenon/${tenon_bundled_soname}" "-Wl,-rpath,\${libdir}/tenon")
endif()
target_link_libraries(tenon_static INTERFACE "$<INSTALL_INTERFACE:${cmake_links}>")

set(targets tenon tenon_static)
if(TARGET tenon_command)
	install(TARGETS tenon_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES include/tenon.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ${targets} EXPORT tenon
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
	INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tenon NAMESPACE tenon:: FILE tenon-targets.cmake DESTINATION ${package_dir})

configure_package_config_file(cmake/tenon-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/tenon-config.cmake
	INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/tenon-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenon-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/tenon-config-version.cmake
	DESTINATION ${package_dir})

file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
list(JOIN pc_links " " pc_links)
configure_file(cmake/tenon.pc.in ${CMAKE_CURRENT_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
