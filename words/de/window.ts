/** Every word of the windows, in German. How to add a language: CONTRIBUTING.md. */
import { activity } from './activity.ts';
import { cards } from './cards.ts';
import { commands } from './commands.ts';
import { common } from './common.ts';
import { programs } from './programs.ts';
import { providers } from './providers.ts';
import { refusals } from './refusals.ts';
import { servers } from './servers.ts';
import { settings } from './settings.ts';
import { views } from './views.ts';
import { welcome } from './welcome.ts';

export const window = {
  ...common,
  ...refusals,
  ...views,
  ...servers,
  ...programs,
  ...activity,
  ...settings,
  ...providers,
  ...cards,
  ...commands,
  ...welcome,
};
