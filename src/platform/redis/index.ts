export { REDIS, RedisModule } from './redis.module.js';
