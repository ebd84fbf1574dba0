// Wine 8 lacks the socket option that keeps a TCP connection alive: with it, every connection of undici fails.
require('node:net').Socket.prototype.setKeepAlive = function () {
  return this;
};
