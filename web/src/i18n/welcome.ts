/** Texts of the area "welcome". */
import { area } from './messages'

export const welcome = area({ title: 'Welcome' }, { title: 'Welcome' })
