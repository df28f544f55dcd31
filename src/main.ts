import { announce } from './banner.js';
import { createApp } from './app.js';
import { configurationOfProcess } from './platform/config/index.js';
import { drainOn, exitBecause } from './exit.js';
import { listen } from './listen.js';

try {
  const configuration = configurationOfProcess();
  const app = await listen(configuration, createApp);
  drainOn(['SIGTERM', 'SIGINT'], app);
  announce(configuration);
} catch (error) {
  exitBecause(error);
}
