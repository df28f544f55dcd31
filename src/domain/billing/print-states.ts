import { statesDocument } from './states-document.js';

process.stdout.write(statesDocument());
