/** The card of several questions: what one run of an app asks in one breath. */
import { waiting } from './lists.ts';
import { longBreath, oneBreath } from './questions.ts';
import type { DeskState } from './states.ts';

export const severalStates: readonly DeskState[] = [
  { name: 'card-several', hash: 'card', sign: '.one-of-several', lists: waiting(...oneBreath) },
  { name: 'card-several-long', hash: 'card', sign: '.one-of-several', lists: waiting(...longBreath) },
  {
    name: 'card-several-left-out',
    hash: 'card',
    sign: '.left-out',
    press: ['.one-of-several .party-name input'],
    lists: waiting(...oneBreath),
  },
  {
    name: 'card-several-none-ticked',
    hash: 'card',
    sign: '.left-out',
    press: oneBreath.map((_, at) => `.parties > :nth-child(${at + 2}) .party-name input`),
    lists: waiting(...oneBreath),
  },
  {
    name: 'card-several-refused',
    hash: 'card',
    sign: '.refused',
    press: ['.question [type=submit]'],
    lists: waiting(...oneBreath),
    refused: ['card.answer'],
  },
  {
    name: 'several-in-main-window',
    hash: 'servers',
    sign: 'dialog .question',
    press: ['.waiting button'],
    lists: waiting(...oneBreath),
  },
];
