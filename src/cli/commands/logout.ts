/** `keyturn logout URL|ID`: the everyday form of `keyturn sign-in revoke`. */
import { revokeCommand } from './sign-in/revoke.ts';

export const command = revokeCommand(
  'logout',
  'Sign out: revoke a sign-in, here and at its authorization server',
);
