import { announce } from './announce.js';
import { createApp } from './app.js';
import { configurationOfProcess } from './config/index.js';
import { drainOn } from './drain.js';
import { listen } from './listen.js';
import { exitBecause } from './failure.js';

try {
  const configuration = configurationOfProcess();
  const app = await listen(configuration, createApp);
  drainOn(['SIGTERM', 'SIGINT'], app);
  announce(configuration);
} catch (error) {
  exitBecause(error);
}
