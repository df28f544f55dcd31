import { statesInMarkdown } from './subscription-state.js';

process.stdout.write(statesInMarkdown());
