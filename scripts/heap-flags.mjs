// What `npm start` tells the engine of memory and garbage, for whoever starts the service in another way.
import { readFileSync } from 'node:fs';

const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

export const HEAP_FLAGS = scripts.start.split(' ').filter((word) => word.startsWith('--'));
