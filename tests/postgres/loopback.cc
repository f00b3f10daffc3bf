#include "postgres/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace pawl::testing {

namespace {

constexpr int kWaitingMax = 64;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

Listening listen_on_loopback(int flags) {
  Listening listening;
  listening.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(listening.socket, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listening.socket, kWaitingMax) != 0 ||
      ::getsockname(listening.socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("there is no free port on this machine");
  }
  listening.port = ntohs(address.sin_port);
  return listening;
}

int connect_on_loopback(std::uint16_t port) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(server);
    return -1;
  }
  return server;
}

bool send_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace pawl::testing
