import { statesDocument } from './subscription-state.js';

process.stdout.write(statesDocument());
