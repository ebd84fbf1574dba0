/**
 * What the page shows, named by the table of channels.
 *
 * Invariant: every type here is a piece of the table's own; the page knows no field that it doesn't name.
 */
import type { ParamsOn, ResultOn } from '../../electron/bridge/channels.ts';

export type {
  Bridge,
  ChannelName,
  ParamsOn,
  Preferences,
  Refusal,
  ResultOn,
  ShownPreferences,
} from '../../electron/bridge/channels.ts';

export type SignIn = ResultOn<'signIn.list'>['signIns'][number];
export type Trouble = NonNullable<SignIn['trouble']>;
export type Receipt = ResultOn<'signIn.revoke'>['revoked'][number];
export type PairedApp = ResultOn<'app.list'>['apps'][number];
export type Permission = PairedApp['permissions'][number];
export type ListedApiKey = ResultOn<'apiKey.list'>['apiKeys'][number];
export type OpenForward = ResultOn<'forward.list'>['forwards'][number];
export type ListedProxy = Status['proxies'][number];
export type Question = ResultOn<'request.list'>['requests'][number];
/** Of one card. */
export type Questions = readonly [Question, ...Question[]];
export type AppProcess = NonNullable<Question['appProcess']>;
export type OAuthClient = ResultOn<'oauthClient.list'>['oauthClients'][number];
export type Status = ResultOn<'status'>;
export type LookedAt = ResultOn<'setup.look'>;
export type SetupClient = LookedAt['clients'][number];
export type SetupEntry = SetupClient['entries'][number];
export type SetupResult = ResultOn<'setup.apply'>['results'][number];
export type SetupUndone = ResultOn<'setup.undo'>;
export type ActiveHour = ResultOn<'audit.activity'>['hours'][number];
/** How an app used a server in those hours. */
export type Use = ResultOn<'audit.activity'>['uses'][number];
export type AuditRow = ResultOn<'audit.tail'>['rows'][number];
export type Settings = ResultOn<'settings.get'>['settings'];
/** What the window may set. */
export type SettableName = ParamsOn<'settings.set'>['name'];
export type SettingDetail = ResultOn<'settings.get'>['details'][number];
export type Explanation = ResultOn<'signIn.show'>['signIns'][number];
export type SettingValue = Settings[string];
export type ExceptionName = ParamsOn<'exception.set'>['name'];
