/**
 * What the page shows, by the table of channels, and the fields that a newer broker adds to it.
 *
 * Invariant: a field that is named only here is optional: a broker that doesn't send it is shown
 * without it. Once the table names the field, the table's own type counts.
 */
import type { ChannelName, Envelope, ParamsOn, Refusal, ResultOn } from '../electron/channels.ts';

export type { Change, Preferences, Refusal } from '../electron/channels.ts';

/** `T` with further optional fields, where the table doesn't have them itself. */
type With<T, Further> = T & Omit<Further, keyof T>;

export interface Trouble {
  readonly reason: string;
  /** Seconds since 1970, as all instants here. */
  readonly since?: number;
  readonly nextTryAt?: number;
}

interface ReceiptFields {
  readonly nextTryAt?: number;
  /** Until when a copy of an access token that was handed out works. */
  readonly liveUntil?: number;
  readonly endedAt?: number;
}

export type Grant = With<
  ResultOn<'grant.list'>['grants'][number],
  ReceiptFields & { readonly trouble?: Trouble; readonly why?: string }
>;

export type Receipt = With<ResultOn<'grant.revoke'>['revoked'][number], ReceiptFields>;

type ListedClient = ResultOn<'client.list'>['clients'][number];

export type Permission = With<
  ListedClient['permissions'][number],
  {
    /** It ends with this run of the program. */
    readonly run?: boolean | { readonly pid?: number };
  }
>;

export type LocalClient = Omit<ListedClient, 'permissions'> & { readonly permissions: readonly Permission[] };

export type Question = With<
  ResultOn<'interaction.list'>['interactions'][number],
  {
    /** Path of the asking program, as the kernel tells it. Absent: unverified. */
    readonly executable?: string;
    readonly pid?: number;
    /** The programs that started it, nearest first. */
    readonly parents?: readonly string[];
  }
>;

export interface VaultState {
  readonly state: string;
  readonly since?: number;
  readonly what?: string;
  readonly hint?: string;
}

export type Status = With<ResultOn<'status'>, { readonly vaultState?: VaultState }>;

export type AuditRow = ResultOn<'audit.tail'>['rows'][number];
export type Settings = ResultOn<'settings.get'>['settings'];
export type SettingValue = Settings[string];
export type OverrideName = ParamsOn<'override.set'>['name'];

/** Channels that come with a broker which tells `status.vaultState`. */
export interface VaultChannels {
  readonly 'vault.lock': { readonly params: object; readonly result: object };
  readonly 'vault.unlock': { readonly params: { readonly passphrase?: string }; readonly result: object };
}

export type Channel = ChannelName | keyof VaultChannels;
export type Params<C extends Channel> = C extends ChannelName
  ? ParamsOn<C>
  : C extends keyof VaultChannels
    ? VaultChannels[C]['params']
    : never;
export type Result<C extends Channel> = C extends ChannelName
  ? ResultOn<C>
  : C extends keyof VaultChannels
    ? VaultChannels[C]['result']
    : never;

/** `window.keyturn`, as preload makes it. */
export interface Host {
  call<C extends Channel>(channel: C, params: Params<C>): Promise<Envelope<Result<C>>>;
  onChange(listener: () => void): () => void;
}

/** The answer of a host that doesn't answer at all. */
export const hostGone = (message: string): { readonly ok: false; readonly refusal: Refusal } => ({
  ok: false,
  refusal: { reason: 'internal', message },
});
