/** Runs before each test file over the double of Electron: its windows' Chromium ends with the file. */
import { afterAll } from 'vitest';
import { endChromium } from './electron-double/chromium.ts';

afterAll(endChromium);
