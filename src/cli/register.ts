/** `keyturn register ISSUER`: client information that the user obtained by registering Keyturn there. */
import { exitCodes } from '../errors.ts';
import { parse, usage } from './arguments.ts';
import { ask } from './command.ts';
import type { Command } from './command.ts';
import { print } from './output.ts';

const help = `Usage: keyturn register ISSUER --client-id ID [OPTION]...
Enter the client information you got by registering Keyturn at an issuer that
has no dynamic registration. Prints the redirect URI to register there.

      --client-id ID         the client id
      --client-secret-stdin  read the client secret from standard input
      --redirect-uri URI     the redirect URI as registered, e.g.
                             http://127.0.0.1:53123/callback; without it one is chosen
  -h, --help                 show this

Example:
  pass show work/keyturn | keyturn register https://login.example --client-id abc --client-secret-stdin
`;

export const command: Command = {
  help,
  async run(args) {
    const { values, positionals } = parse(
      args,
      {
        'client-id': { type: 'string' },
        'client-secret-stdin': { type: 'boolean' },
        'redirect-uri': { type: 'string' },
      },
      { names: ['ISSUER'], command: 'register' },
    );
    const [issuer = ''] = positionals;
    const clientId = values['client-id'];
    if (clientId === undefined) throw usage('--client-id is needed', 'register');
    const clientSecret = values['client-secret-stdin'] ? await secretFromStdin() : undefined;
    const { redirectUri } = await ask('registration.set', {
      issuer,
      clientId,
      ...(clientSecret === undefined ? {} : { clientSecret }),
      ...(values['redirect-uri'] === undefined ? {} : { redirectUri: values['redirect-uri'] }),
    });
    print(redirectUri);
    return exitCodes.ok;
  },
};

async function secretFromStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  const secret = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '');
  if (secret === '') throw usage('--client-secret-stdin found nothing on standard input', 'register');
  return secret;
}
