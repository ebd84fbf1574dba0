/** Runs before each test file: files that share a process must not look for each other's secrets, which takes minutes. */
import { forgetSecrets } from './secrets.ts';

forgetSecrets();
