// Sockets of this machine, for what stands between a client and a server.
#pragma once

#include <cstdint>
#include <string_view>

namespace pawl::testing {

struct Listening {
  int socket = -1;
  std::uint16_t port = 0;
};

// On a free port. `flags` of socket() beside those that all have. Throws if there is none.
Listening listen_on_loopback(int flags = 0);
// -1: nobody listens there.
int connect_on_loopback(std::uint16_t port);
// False: the other side is gone.
bool send_all(int to, std::string_view bytes);

}  // namespace pawl::testing
