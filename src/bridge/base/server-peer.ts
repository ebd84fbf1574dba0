/** What the bridge needs of a server, whatever revision that speaks. */
import type { Answer, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, RequestId } from './messages.ts';

export interface ServerPeer {
  /** The server's answer under the id of `request`. Rejects with a KeyturnError, or with the signal's reason. */
  request(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer>;
  /** A notification, or an answer to what the server asked. */
  send(message: JSONRPCNotification | Answer): Promise<void>;
}

/** A server that may speak the older transport. */
export interface DualTransportPeer extends ServerPeer {
  /** A handshake by the older transport, after the server refused it by the newer one. */
  older(request: JSONRPCRequest, signal: AbortSignal): Promise<Answer>;
}

/** A message that the server sends by itself; `about`: the client's request in whose answer it came. */
export type OnServerMessage = (message: JSONRPCMessage, about: RequestId | undefined) => void;
