#include "postgres/proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string_view>

namespace pawl::testing {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
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

}  // namespace

CuttingProxy::CuttingProxy(std::uint16_t server_port)
    : server_port_(server_port),
      listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof(address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("the proxy finds no port");
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

CuttingProxy::~CuttingProxy() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof(one));
  thread_.join();
  ::close(listener_);
  ::close(stop_);
}

// One client after the other.
void CuttingProxy::run() {
  while (true) {
    std::array<pollfd, 2> files = {{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}}};
    ::poll(files.data(), files.size(), -1);
    if (files[0].revents != 0) {
      return;
    }
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    serve(client);
    ::close(client);
  }
}

void CuttingProxy::serve(int client) {
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(server_port_);
  bool is_open =
      ::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  bool drop_answer = false;
  std::array<char, 65536> buffer;
  while (is_open) {
    std::array<pollfd, 3> files = {{{stop_, POLLIN, 0}, {client, POLLIN, 0}, {server, POLLIN, 0}}};
    ::poll(files.data(), files.size(), -1);
    if (files[0].revents != 0) {
      break;
    }
    if (files[1].revents != 0) {
      const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
      const std::string_view bytes(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
      const Cut how = how_;
      const bool is_found = how != Cut::kNever && bytes.find(bytes_) != std::string_view::npos;
      if (is_found && how == Cut::kBefore) {
        break;
      }
      drop_answer |= is_found;
      is_open = got > 0 && send_all(server, bytes);
    }
    if (files[2].revents != 0) {
      const ssize_t got = ::recv(server, buffer.data(), buffer.size(), 0);
      is_open &= !drop_answer && got > 0 &&
                 send_all(client, {buffer.data(), static_cast<std::size_t>(got)});
    }
  }
  ::close(server);
}

}  // namespace pawl::testing
