/** A GET with exactly these headers, to this address. Follows no redirect, and reads the answer to its end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request, type IncomingHttpHeaders } from 'node:http';

export interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The address to connect to, if not the URL's. */
  readonly address?: string;
}

export interface Got {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly page: string;
}

export async function rawGet(
  url: URL | string,
  { method = 'GET', headers = {}, address }: Sent = {},
): Promise<Got> {
  const target = new URL(url);
  const outgoing = request({
    host: address ?? target.hostname,
    port: target.port,
    path: target.pathname + target.search,
    method,
    headers: { host: target.host, ...headers },
  });
  outgoing.end();
  const [response] = await once(outgoing, 'response');
  let page = '';
  for await (const chunk of response.setEncoding('utf8')) page += chunk;
  return { status: response.statusCode, headers: response.headers, page };
}

/** The page that an address of the broker's leads on to. */
export async function pageBehind(address: string): Promise<string> {
  return (await rawGet(address)).headers.location ?? address;
}

/** The status that user 65534 gets; only root can try. A shell's /dev/tcp: whatever that user may execute, it is there. */
export async function statusForNobody(url: URL | string): Promise<string> {
  const { hostname, port, pathname, search, host } = new URL(url);
  const script = `exec 3<>/dev/tcp/${hostname}/${port}; printf 'GET ${pathname}${search} HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n' >&3; head -1 <&3`;
  const child = spawn('/bin/bash', ['-c', script], { uid: 65_534, gid: 65_534, cwd: '/' });
  let out = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) out += chunk;
  return out.split(' ')[1] ?? out;
}
