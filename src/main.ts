import { announce, drainOn, exitBecause, listen } from './listen.js';
import { createApp } from './app.js';
import { configurationOfProcess } from './platform/config/index.js';

try {
  const configuration = configurationOfProcess();
  const app = await listen(configuration, createApp);
  drainOn(['SIGTERM', 'SIGINT'], app);
  announce(configuration);
} catch (error) {
  exitBecause(error);
}
