// Boost.JSON itself, for libpawl.so: Debian's archive of it cannot be linked into a shared library.
#include <boost/json/src.hpp>
