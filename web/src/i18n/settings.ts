/** Texts of the area "settings". */
import { area } from './messages'

export const settings = area({ title: 'Settings' }, { title: 'Settings' })
