/** The WWW-Authenticate header, well formed and not. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bearerChallenge, parseChallenges } from '../../../src/oauth/discovery/challenge.ts';
import { anyText } from '../../support/any-text.ts';

/** Challenges in a form that is easy to compare. */
function parsed(header: string) {
  return parseChallenges(header).map(({ scheme, token68, parameters }) => ({
    scheme,
    ...(token68 === undefined ? {} : { token68 }),
    ...Object.fromEntries(parameters),
  }));
}

describe('parseChallenges', () => {
  it.each([
    ['Bearer', [{ scheme: 'bearer' }]],
    ['Bearer realm="x"', [{ scheme: 'bearer', realm: 'x' }]],
    ['bEARER ReAlM=x', [{ scheme: 'bearer', realm: 'x' }]],
    ['Bearer realm = "x" , scope="a b"', [{ scheme: 'bearer', realm: 'x', scope: 'a b' }]],
    [
      'Newauth realm="apps", type=1, title="Login to \\"apps\\"", Basic realm="simple"',
      [
        { scheme: 'newauth', realm: 'apps', type: '1', title: 'Login to "apps"' },
        { scheme: 'basic', realm: 'simple' },
      ],
    ],
    ['Negotiate, Bearer realm="x"', [{ scheme: 'negotiate' }, { scheme: 'bearer', realm: 'x' }]],
    [
      'Negotiate YWJj/+==, Bearer realm="x"',
      [
        { scheme: 'negotiate', token68: 'YWJj/+==' },
        { scheme: 'bearer', realm: 'x' },
      ],
    ],
    ['Bearer realm="a, Basic realm=b"', [{ scheme: 'bearer', realm: 'a, Basic realm=b' }]],
    ['Bearer realm="\\\\"', [{ scheme: 'bearer', realm: '\\' }]],
    [',, Bearer ,, realm="x",', [{ scheme: 'bearer', realm: 'x' }]],
    ['Bearer a="1", a="2"', [{ scheme: 'bearer', a: '1' }]],
    ['Bearer a=""', [{ scheme: 'bearer', a: '' }]],
  ])('reads %s', (header, challenges) => {
    expect(parsed(header)).toEqual(challenges);
  });

  it.each([
    ['', []],
    [' , ,', []],
    ['=x, "quoted"', []],
    ['realm="x"', []],
    ['Bearer scope=read write, error=e', [{ scheme: 'bearer', error: 'e' }]],
    ['Bearer scope="read" junk, error=e', [{ scheme: 'bearer', error: 'e' }]],
    ['Bearer scope="read', [{ scheme: 'bearer' }]],
    ['Bearer error=e, scope="read', [{ scheme: 'bearer', error: 'e' }]],
    ['Bearer error=e, scope=, scope=read', [{ scheme: 'bearer', error: 'e', scope: 'read' }]],
    [
      'Bearer junk junk "a, Digest, b", Basic realm=x',
      [{ scheme: 'bearer' }, { scheme: 'basic', realm: 'x' }],
    ],
    ['(Bearer realm=x, Basic realm=y', [{ scheme: 'basic', realm: 'y' }]],
    ['Bearer\u0000realm=x', []],
  ])('keeps the well-formed parts of %j', (header, challenges) => {
    expect(parsed(header)).toEqual(challenges);
  });

  it('D-1: ignores a header longer than 16 KiB', () => {
    expect(parseChallenges(`Bearer realm="${'x'.repeat(16 * 1024)}"`)).toEqual([]);
  });

  it('D-1: never throws, for any header', () => {
    const pieces = fc.constantFrom('Bearer', 'realm', 'a68==', ...Array.from(' ,="\\\t\u0000\u00e9'));
    const nearly = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(''));
    fc.assert(fc.property(fc.oneof(anyText(), nearly), (header) => void bearerChallenge(header)));
  });

  it('finds every value that a quoted-string can carry', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const quote = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`;
        const header = `Basic a=${quote(one)}, Bearer a=${quote(other)}`;
        expect(parsed(header)).toEqual([
          { scheme: 'basic', a: one },
          { scheme: 'bearer', a: other },
        ]);
      }),
    );
  });
});

/** A challenge list, as a model and in one of the many spellings that RFC 9110 §11.6.1 allows it. */
const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,8}$/);
const blank = fc.constantFrom('', ' ', '\t', '  ');
const parameter = fc
  .record({ name: token, value: fc.oneof(anyText(), token), before: blank, after: blank, bare: fc.boolean() })
  .map(({ name, value, before, after, bare }) => {
    const isToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value);
    const written = bare && isToken ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
    return { name, value, text: `${name}${before}=${after}${written}` };
  });
const challengeModel = fc
  .record({
    scheme: token,
    parameters: fc.array(parameter, { maxLength: 4 }),
    between: fc.constantFrom(',', ', ', ' ,\t', ', ,'),
  })
  .map(({ scheme, parameters, between }) => ({
    expected: {
      scheme: scheme.toLowerCase(),
      // The first of two with one name counts: written later entries must not win.
      parameters: parameters.reduceRight<Record<string, string>>(
        (all, { name, value }) => ({ ...all, [`_${name.toLowerCase()}`]: value }),
        {},
      ),
    },
    text: [
      `${scheme}${parameters.length === 0 ? '' : ' '}${parameters[0]?.text ?? ''}`,
      ...parameters.slice(1).map(({ text }) => text),
    ].join(between),
  }));

describe('a list of challenges', () => {
  it('D-1: reads a list of challenges in every spelling', () => {
    fc.assert(
      fc.property(
        fc.array(challengeModel, { maxLength: 4 }),
        fc.constantFrom(',', ', ', ' , ,'),
        (models, between) => {
          const header = models.map(({ text }) => text).join(between);
          fc.pre(header.length <= 16 * 1024);
          const read = parseChallenges(header).map(({ scheme, parameters }) => ({
            scheme,
            parameters: Object.fromEntries([...parameters].map(([name, value]) => [`_${name}`, value])),
          }));
          expect(read).toEqual(models.map(({ expected }) => expected));
        },
      ),
    );
  });

  it('D-1: a malformed piece costs no challenge before it or after the next comma', () => {
    const broken = fc.constantFrom('scope=a b', '=x', '(', 'a="x" y', '@', 'a=b=c', 'x=');
    fc.assert(
      fc.property(challengeModel, broken, challengeModel, (one, piece, other) => {
        const header = `${one.text}, ${piece}, ${other.text}`;
        const read = parseChallenges(header);
        expect(read[0]?.scheme).toBe(one.expected.scheme);
        expect(read.at(-1)?.scheme).toBe(other.expected.scheme);
        const parameters = [...(read.at(-1)?.parameters ?? [])].map(([name, value]) => [`_${name}`, value]);
        expect(Object.fromEntries(parameters)).toEqual(other.expected.parameters);
      }),
    );
  });

  it('reads a header of 16 KiB that repeats one piece', () => {
    const steps = (header: string): number => parseChallenges(header).length;
    for (const piece of ['"', '\\"', 'a=', 'a="', ' ', ',', 'Bearer ', '=', 'x=y,']) {
      expect(steps(piece.repeat(Math.floor((16 * 1024) / piece.length)))).toBeLessThanOrEqual(16 * 1024);
    }
  });
});

describe('bearerChallenge', () => {
  it('U-1: reads the parameters of RFC 6750 and RFC 9728', () => {
    const header =
      'Bearer error="insufficient_scope", error_description="More is needed", scope="a b a", resource_metadata="https://server.example/m"';
    expect(bearerChallenge(header)).toEqual({
      error: 'insufficient_scope',
      errorDescription: 'More is needed',
      scope: ['a', 'b'],
      resourceMetadata: 'https://server.example/m',
    });
  });

  const metadata = 'https://server.example/.well-known/oauth-protected-resource/mcp';

  it.each([
    ['an unquoted URL', `Bearer resource_metadata=${metadata}, scope="a"`],
    ['an unquoted URL at the end', `Bearer scope="a", resource_metadata=${metadata}`],
    ['no comma', `Bearer scope="a" resource_metadata="${metadata}"`],
    ['neither comma nor quotes', `Bearer scope=a resource_metadata=${metadata}`],
    ['semicolons', `Bearer scope="a"; resource_metadata="${metadata}"`],
    ['semicolons and no quotes', `Bearer scope=a;resource_metadata=${metadata};error=e`],
    ['single quotes', `Bearer scope='a', resource_metadata='${metadata}'`],
    ['quotes', `Bearer error_description="No "token" here", scope="a", resource_metadata="${metadata}"`],
    ['a comma after the scheme', `Bearer, scope="a", resource_metadata="${metadata}"`],
    ['no comma before the next scheme', `Basic realm="x" Bearer scope="a", resource_metadata="${metadata}"`],
  ])('D-1: reads metadata and scope with %s', (_what, header) => {
    expect(bearerChallenge(header)).toMatchObject({ resourceMetadata: metadata, scope: ['a'] });
  });

  it.each([
    ['an unfinished quote', `Bearer resource_metadata="${metadata}`],
    ['no equals sign', `Bearer resource_metadata "${metadata}"`],
    ['nothing', 'Bearer resource_metadata='],
    ['a sign behind the name', 'Bearer resource_metadata!'],
    ['an empty text', 'Bearer resource_metadata=""'],
    ['brackets', `Bearer resource_metadata=<${metadata}>`],
    ['another sign', `Bearer resource_metadata:"${metadata}"`],
    ['too much room', `Bearer resource_metadata="${metadata}", realm="${'x'.repeat(16 * 1024)}"`],
    ['a colon after the scheme', `Bearer: resource_metadata="${metadata}"`],
    ['JSON', `Bearer {"resource_metadata":"${metadata}"}`],
    ['the name in quotes', `Bearer "resource_metadata"="${metadata}"`],
    ['no scheme', `resource_metadata="${metadata}"`],
  ])('D-1: says that metadata is named and can’t be read: %s', (_what, header) => {
    expect(bearerChallenge(header)).toMatchObject({ isUnreadable: true });
    expect(bearerChallenge(header)?.resourceMetadata).toBeUndefined();
  });

  it.each([
    `Bearer realm="say resource_metadata=${metadata}"`,
    `Basic realm="resource_metadata", Bearer scope="a"`,
    'Bearer',
  ])('finds no metadata that no challenge names: %s', (header) => {
    expect(bearerChallenge(header)?.isUnreadable).toBeUndefined();
  });

  it('takes parameters that the first Bearer challenge lacks from the second, or from one for DPoP', () => {
    const header = `DPoP error="insufficient_scope", scope="a", Bearer realm="x", Basic realm="y", Bearer scope="b"`;
    expect(bearerChallenge(header)).toEqual({ error: 'insufficient_scope', scope: ['b'] });
    expect(bearerChallenge(`Bearer scope="a", Bearer scope="b", resource_metadata="${metadata}"`)).toEqual({
      resourceMetadata: metadata,
      scope: ['b'],
    });
  });

  it('takes the last of two URLs of the metadata, which Sentry added behind that of a library', () => {
    const header = `Bearer realm="OAuth", resource_metadata="${metadata}/root", error="invalid_token", resource_metadata="${metadata}"`;
    expect(bearerChallenge(header)).toEqual({ resourceMetadata: metadata, error: 'invalid_token' });
  });

  it('finds no challenge of another scheme unless it names the metadata', () => {
    expect(bearerChallenge('Digest realm="x", Basic realm="Bearer scope=a"')).toBeUndefined();
    const header = `Basic realm="x", Cloudflare-Access resource_metadata="${metadata}"`;
    expect(bearerChallenge(header)).toEqual({ resourceMetadata: metadata });
  });

  it.each([
    [`DPoP resource_metadata="${metadata}", algs="ES256 PS256", scope="a"`, true],
    [`DPoP resource_metadata="${metadata}", scope="a"`, true],
    [`DPoP resource_metadata="${metadata}", algs="PS256", scope="a"`, undefined],
    [`Bearer resource_metadata="${metadata}", scope="a", DPoP algs="ES256"`, undefined],
    [`DPoP algs="ES256", Bearer resource_metadata="${metadata}", scope="a"`, undefined],
  ])('reads from %s whether the server takes only bound tokens', (header, wantsBoundTokens) => {
    expect(bearerChallenge(header)).toEqual({
      resourceMetadata: metadata,
      scope: ['a'],
      ...(wantsBoundTokens && { wantsBoundTokens }),
    });
  });

  it('U-1: drops malformed scopes of a challenge, and an empty list of scopes', () => {
    expect(bearerChallenge('Bearer scope="read caf\u00e9"')).toEqual({ scope: ['read'] });
    expect(bearerChallenge('Bearer scope=""')).toEqual({});
  });
});
