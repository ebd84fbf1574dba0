/** Sign-ins by the built command at authorization servers as people have them, from public reports. */
import { expect, it } from 'vitest';
import { json } from '../../support/bent/server.ts';
import { commandsAt } from '../commands.ts';

const device = { authorization: { deviceAuthorization: true } };

it('a device answer may call its page verification_url', async () => {
  const { login, authorizationServer } = await commandsAt(
    {
      deviceAnswer: ({ body }) => {
        setTimeout(() => authorizationServer.approveDevice(String(body['user_code'])), 100);
        return json({
          ...body,
          verification_uri: undefined,
          verification_uri_complete: undefined,
          verification_url: body['verification_uri'],
        });
      },
    },
    device,
  );
  expect(await login('--device')).toMatchObject({ code: 0 });
});

it('a URL with a query signs in, and the entry of a client keeps it', async () => {
  const { home, url } = await commandsAt({});
  const asked = `${url}?project_ref=abc&read_only=true`;
  expect(await home.keyturn(['login', asked, '--timeout', '15s'])).toMatchObject({ code: 0 });
  await home.ok(['app', 'allow', 'cli', url, '--for', '8h']);
  expect(await home.ok(['token', asked, '--no-input'])).toMatch(/\S/);
});
