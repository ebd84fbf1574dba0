/**
 * Puts the broker's parts together: clock, records, network, vault, and what rests on them.
 *
 * Invariant: one of each a home. Nothing here reads a file, a keychain or the network.
 */
import path from 'node:path';
import type { Audit } from '../broker/audit.ts';
import { AuthorizationServers } from '../broker/authorization-servers.ts';
import { Grants, grantSchema } from '../broker/grant.ts';
import { Interactions } from '../broker/interaction.ts';
import { LocalClients, localClientSchema } from '../broker/local-client.ts';
import { Loopback } from '../broker/loopback.ts';
import { OverrideBook, overrideSchema } from '../broker/override.ts';
import type { BrokerParts } from '../broker/parts.ts';
import { Permissions, permissionSchema } from '../broker/permission.ts';
import { RecordFile } from '../broker/record-file.ts';
import { Refresher } from '../broker/refresher.ts';
import { registrationRecordSchema, Registrations } from '../broker/registrations.ts';
import { TokenCache } from '../broker/token-cache.ts';
import type { Http } from '../oauth/http.ts';
import type { HomePaths } from '../paths.ts';
import type { Vault } from '../vault/vault.ts';
import { ServerClocks } from '../oauth/server-clock.ts';
import type { DaemonFetch } from './fetch.ts';
import { machineClock } from './machine-clock.ts';
import type { Settings } from './settings.ts';

/** The process has one clock, which notes from its start on what time does. */
export const clock = machineClock();

export type Records = ReturnType<typeof openRecords>;

export function openRecords(paths: HomePaths) {
  const file = (name: string): string => path.join(paths.state, `${name}.json`);
  return {
    grants: new RecordFile(file('grants'), grantSchema),
    registrations: new RecordFile(file('registrations'), registrationRecordSchema),
    clients: new RecordFile(file('clients'), localClientSchema),
    permissions: new RecordFile(file('permissions'), permissionSchema),
    overrides: new RecordFile(file('overrides'), overrideSchema),
  };
}

export interface Assembly {
  readonly settings: Settings;
  readonly vault: Vault;
  readonly net: DaemonFetch;
  readonly records: Records;
  readonly audit: Audit;
  readonly openBrowser: (url: string, command: string | undefined) => Promise<void>;
  /** Tells the owner's connections that the open questions changed. */
  readonly questionsChanged: () => void;
}

export function assemble({
  settings,
  vault,
  net,
  records,
  audit,
  openBrowser,
  questionsChanged,
}: Assembly): BrokerParts {
  const urlPolicy = { allowInsecureLoopback: settings.insecureLoopback };
  const protocolVersion = { header: settings.protocolVersionHeader, value: settings.protocolVersion };
  const serverClocks = new ServerClocks();
  const network = (endpoint: string): Http => ({
    fetch: net.fetchFor(endpoint),
    now: clock.now,
    wall: clock.wall,
    serverClocks,
    protocolVersion,
    ...urlPolicy,
  });
  const overrides = new OverrideBook(records.overrides);
  const grants = new Grants(records.grants);
  const registrations = new Registrations(records.registrations, vault);
  const servers = new AuthorizationServers({ network, overrides });
  const cache = new TokenCache();
  const shared = { network, clock, overrides, vault, grants, registrations, servers, cache, audit };
  return {
    ...shared,
    urlPolicy,
    clientMetadataUrl: settings.clientMetadataUrl,
    refresher: new Refresher(shared),
    interactions: new Interactions(clock.wall, questionsChanged),
    loopback: new Loopback(),
    clients: new LocalClients(records.clients),
    permissions: new Permissions(records.permissions),
    openBrowser: (url) => openBrowser(url, settings.browser),
  };
}
