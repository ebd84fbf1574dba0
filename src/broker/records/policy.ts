/**
 * The administrator's policy for a machine: which issuers, servers, programs and features there may be.
 *
 * Invariants: but for its clients, a policy only takes away. What it doesn't mention is as without a policy. An unknown field makes the whole
 * policy invalid, so that no typing error allows what was meant to be forbidden.
 */
import * as z from 'zod';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { isLoopbackRedirect } from '../../oauth/client/registration.ts';
import { cliClientId } from './local-client.ts';
import type { Grant } from './grant.ts';
import { allOverrideNames } from './override.ts';
import type { OverrideName } from './override.ts';

/** `https://*.example.com/path` is read as if the star were a label of its own. */
const anyLabel = '://*.';
const someLabel = '://any.';

const place = z
  .string()
  .max(2048)
  .refine((text) => {
    const url = URL.parse(text.replace(anyLabel, someLabel));
    const isPlain = url?.search === '' && url.hash === '' && url.username === '' && url.password === '';
    // A star in a path would be taken for one in the host.
    return isPlain && /^https?:\/\/(?:\*\.)?[^*]+$/i.test(text);
  }, 'not an http or https URL without query and fragment; a star may stand for the first labels of the host');

/** Where the administrator registered that the browser returns to. */
const redirect = z.string().refine(isLoopbackRedirect, 'not an http URL of this machine with a port');

const program = z.union([z.literal(cliClientId), z.string().regex(/^\/[^\0]*$/)]);

const features = ['proxies', 'forwards', 'apiKeys', 'overrides'] as const;

export type Feature = (typeof features)[number];

/** One rule that can't be waived; `overrides` switches off all. */
const overrideOff = allOverrideNames.map((name) => `overrides:${name}` as const);

export const policySchema = z.strictObject({
  /** Authorization servers by their issuer URL. Absent: any. */
  issuers: z.array(place).optional(),
  /** Protected servers: an origin, or a URL with everything below its path. Absent: any. */
  resources: z.array(place).optional(),
  /** Absolute paths of executables, and `cli` for the command line. Absent: any. */
  programs: z.array(program).optional(),
  /** What is switched off. */
  off: z.array(z.literal([...features, ...overrideOff])).optional(),
  /** Public clients that were registered at an issuer beforehand. They come before any other client there. */
  clients: z
    .array(z.strictObject({ issuer: place, clientId: z.string().min(1).max(2048), redirectUri: redirect }))
    .optional(),
  /** Seconds: a permission ends so long after the yes, at the latest. */
  lifetimes: z.strictObject({ permission: z.int().positive() }).optional(),
});

export type PolicyContent = z.output<typeof policySchema>;

export type GivenClient = NonNullable<PolicyContent['clients']>[number];

export interface Program {
  readonly name: string;
  /** As the kernel tells it; absent: it doesn't, or the program runs elsewhere, or another file lies at that path. */
  readonly executable?: string | undefined;
  /** Others than root can change the file, so it may be any program. */
  readonly isChangeable?: boolean;
}

const rule = 'The administrator’s policy for this machine';

export class Policy {
  /** Where it lies; undefined: there is none. */
  readonly file: string | undefined;
  readonly content: PolicyContent;

  constructor(file?: string, content: PolicyContent = {}) {
    this.file = file;
    this.content = content;
  }

  /** `endpoint`: an absolute URL. Throws `policy_refused`. */
  refuseResource(endpoint: string): void {
    if (!this.#allowsResource(endpoint))
      throw refused(`${quoted(endpoint)} is not among the servers that it allows`);
  }

  #allowsResource(endpoint: string): boolean {
    const { resources } = this.content;
    return !resources || resources.some((allowed) => covers(allowed, endpoint));
  }

  /** Throws `policy_refused`. */
  refuseIssuer(issuer: string): void {
    const { issuers } = this.content;
    if (issuers && !issuers.some((allowed) => isSameIssuer(allowed, issuer)))
      throw refused(`${quoted(issuer)} is not among the authorization servers that it allows`);
  }

  /**
   * Where a grant's tokens come from, and what for. `isForServer`: false for the company's sign-in, which is for no
   * protected server. Throws `policy_refused`.
   */
  refuseGrant(
    { issuer, server, endpoints }: Pick<Grant, 'issuer' | 'server' | 'endpoints'>,
    isForServer: boolean,
  ): void {
    this.refuseIssuer(issuer);
    // With `issuer-mismatch` waived, a server may call itself by an issuer that is allowed.
    if (server) this.refuseIssuer(server.identifier);
    const [first] = endpoints;
    const isAny = endpoints.some((endpoint) => this.#allowsResource(endpoint));
    if (isForServer && first !== undefined && !isAny) this.refuseResource(first);
  }

  /** Whether programs are checked at all: to find out what one runs takes a look at files. */
  get limitsPrograms(): boolean {
    return this.content.programs !== undefined;
  }

  /** Throws `policy_refused`. */
  refuseProgram({ name, executable, isChangeable = false }: Program): void {
    const { programs } = this.content;
    if (!programs) return;
    const isCli = name === cliClientId;
    const listed = programs.find((one) => one === (isCli ? cliClientId : executable));
    if (listed === undefined) {
      const file = executable === undefined ? 'whose file is not known' : `which runs ${quoted(executable)}`;
      const what = isCli ? 'the command line' : file;
      throw refused(`${quoted(name)}, ${what}, is not among the programs that it allows`);
    }
    if (!isCli && isChangeable) throw refused(`others than root can change ${quoted(listed)}`);
  }

  /** Milliseconds. */
  get longestPermission(): number {
    return (this.content.lifetimes?.permission ?? Infinity) * 1000;
  }

  clientFor(issuer: string): GivenClient | undefined {
    return this.content.clients?.find((client) => isSameIssuer(client.issuer, issuer));
  }

  /** Throws `policy_refused`. */
  refuseFeature(feature: Feature): void {
    if (this.content.off?.includes(feature)) throw refused(`it switches off: ${feature}`);
  }

  /** Whether the user can't waive this rule: what was waived before doesn't count then. */
  keepsRule(name: OverrideName): boolean {
    return ['overrides', `overrides:${name}`].some((off) => this.content.off?.some((one) => one === off));
  }

  /** Throws `policy_refused`. */
  refuseOverride(name: OverrideName): void {
    if (this.keepsRule(name)) throw refused(`it switches off: overrides of ${name}`);
  }
}

function covers(allowed: string, endpoint: string): boolean {
  const url = URL.parse(endpoint);
  const wanted = URL.parse(allowed.replace(anyLabel, someLabel));
  if (!url || !wanted || url.protocol !== wanted.protocol || url.port !== wanted.port) return false;
  const isHost = allowed.includes(anyLabel)
    ? url.hostname.endsWith(wanted.hostname.slice('any'.length))
    : url.hostname === wanted.hostname;
  const path = wanted.pathname.endsWith('/') ? wanted.pathname : `${wanted.pathname}/`;
  return isHost && `${url.pathname}/`.startsWith(path);
}

/** RFC 8414 §3.3 compares issuers as they stand; an administrator may forget a closing slash. */
function isSameIssuer(allowed: string, issuer: string): boolean {
  const plain = (text: string): string => text.replace(/\/$/, '');
  return allowed.includes(anyLabel) ? covers(allowed, issuer) : plain(allowed) === plain(issuer);
}

function refused(why: string): KeyturnError {
  return new KeyturnError('policy_refused', `The administrator’s policy does not allow this: ${why}.`, {
    rule,
    hint: '`keyturn status` shows the policy. Whoever administers this machine can change it.',
  });
}
